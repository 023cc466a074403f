import Foundation
import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension TransferMetrics {
  /// Foundation's measurements of one transaction; where it gives no date, nothing is said.
  init(_ transaction: URLSessionTaskTransactionMetrics) {
    self.init()
    let start = transaction.fetchStartDate
    func until(_ date: Date?) -> Duration {
      guard let start, let date else { return .zero }
      return .seconds(max(0, date.timeIntervalSince(start)))
    }
    nameLookup = until(transaction.domainLookupEndDate)
    connect = until(transaction.connectEndDate)
    secureConnect = until(transaction.secureConnectionEndDate)
    requestStart = until(transaction.requestStartDate)
    firstByte = until(transaction.responseStartDate)
    total = until(transaction.responseEndDate)
    reusedConnection = transaction.isReusedConnection
    version =
      switch transaction.networkProtocolName {
      case "http/1.0": .http1_0
      case "http/1.1": .http1_1
      case "h2": .http2
      case "h3": .http3
      default: nil
      }
  }
}
