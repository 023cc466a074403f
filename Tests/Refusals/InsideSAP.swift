import Foundation
import SAPFoundation
import SAPOData

// What SAP's modules use of the client and of each other: an app does not see it.

func members(_ request: URLRequest) {
  // error: 'fields' is inaccessible due to '@_spi' protection level
  _ = request.fields
  // error: 'foundationCookieStorage' is inaccessible due to '@_spi' protection level
  _ = URLSessionConfiguration.default.foundationCookieStorage
  // error: 'hexadecimal' is inaccessible due to '@_spi' protection level
  _ = Data().hexadecimal
  // error: 'lowercaseText' is inaccessible due to '@_spi' protection level
  _ = UUID().lowercaseText
}

func types() {
  // error: cannot find 'ExactJSON' in scope
  _ = ExactJSON.null
  // error: cannot find 'SessionLog' in scope
  _ = SessionLog.self
  // error: cannot find 'MultipartReader' in scope
  _ = MultipartReader.self
}
