import Foundation
import SAPFoundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The credential of the user who signed in; a refused one is not sent again.
final class Login: BasicCredentialDiscovery {
  private let state = Mutex<BasicCredential?>(nil)

  var credential: BasicCredential? {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
  ) {
    completionHandler(challenge.previousFailureCount == 0 ? credential : nil, nil)
  }
}

/// Adds the chosen faults to each request.
final class FaultObserver: SAPURLSessionObserver {
  private let state = Mutex<[String]>([])

  var names: [String] {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  override func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) {
    var request = request
    let names = names
    if !names.isEmpty { request.setValue(names.joined(separator: ","), forHTTPHeaderField: "X-SAP-Fault") }
    completionHandler(.allow(request))
  }
}
