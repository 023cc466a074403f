import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What an answer means for those who have not been asked yet.
enum Opinion<Value> {
  /// The next is asked about this value.
  case goOn(Value)
  /// The task fails.
  case fail(any Error)
  /// Nobody else is asked.
  case settled
}

/// An answer, as far as asking is concerned.
protocol Disposition: Sendable {
  associatedtype Value: Sendable
  var opinion: Opinion<Value> { get }
}

extension SAPURLSession.RequestDisposition: Disposition {
  var opinion: Opinion<URLRequest> {
    switch self {
    case .allow(let request): .goOn(request)
    case .cancel(let error): .fail(error)
    case .respond: .settled
    }
  }
}

extension SAPURLSession.ResponseDisposition: Disposition {
  var opinion: Opinion<URLResponse> {
    switch self {
    case .allow(let response): .goOn(response)
    case .cancel(let error): .fail(error)
    case .resend, .becomeDownload: .settled
    }
  }
}

extension SAPURLSession.CancellableDisposition: Disposition {
  var opinion: Opinion<Void> {
    switch self {
    case .allow: .goOn(())
    case .cancel(let error): .fail(error)
    }
  }
}

extension SAPURLSession.DataDisposition: Disposition {
  var opinion: Opinion<Data> {
    switch self {
    case .allow(let data): .goOn(data)
    case .cancel(let error): .fail(error)
    }
  }
}

extension SAPURLSession.AuthChallengeDisposition: Disposition {
  var opinion: Opinion<Void> {
    switch self {
    case .performDefaultHandling: .goOn(())
    case .use, .rejectProtectionSpace: .settled
    case .cancel(let error): .fail(error)
    }
  }
}

extension SAPURLSession.HTTPRedirectDisposition: Disposition {
  var opinion: Opinion<URLRequest> {
    switch self {
    case .allow(let request): .goOn(request)
    case .refuse: .settled
    case .cancel(let error): .fail(error)
    }
  }
}

extension SAPURLSession.CacheResponseDisposition: Disposition {
  var opinion: Opinion<CachedURLResponse> {
    switch self {
    case .allow(let response): .goOn(response)
    case .doNotCache: .settled
    case .cancel(let error): .fail(error)
    }
  }
}

extension SAPURLSession.DelayedRequestDisposition: Disposition {
  var opinion: Opinion<Void> {
    switch self {
    case .continueLoading: .goOn(())
    case .useNewRequest: .settled
    case .cancel(let error): .fail(error)
    }
  }
}
