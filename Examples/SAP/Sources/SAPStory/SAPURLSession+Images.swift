import Foundation
import MartletCombine
import MartletImages
import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension SAPURLSession {
  /// The picture at a URL, or the error: the call from SAP's article on images.
  func getImage(for url: URL) -> AnyPublisher<Bitmap, SAPURLError> {
    dataTaskPublisher(for: url)
      .tryMap { data, response in try ImageDecoder.decode(SAPURLError.checked(data, response)) }
      .mapError { SAPURLError($0) }
      .eraseToAnyPublisher()
  }
}
