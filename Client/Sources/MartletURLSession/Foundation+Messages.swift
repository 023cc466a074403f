import MartletEngine
@_spi(Toolkit) public import MartletSemantics

extension URLRequest {
  /// The fields, sorted by name, because Foundation's dictionary has no order.
  @_spi(Toolkit) public var fields: HTTPFields {
    var fields = HTTPFields()
    for (name, value) in (allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      fields.append(value, forName: name)
    }
    return fields
  }

  /// Replaces all fields. Several lines with one name are joined.
  @_spi(Toolkit) public mutating func setFields(_ fields: HTTPFields, leavingOut excluded: Set<FieldName> = []) {
    for name in (allHTTPHeaderFields ?? [:]).keys { setValue(nil, forHTTPHeaderField: name) }
    for (name, _) in fields where !excluded.contains(name) {
      setValue(fields[name], forHTTPHeaderField: name.rawName)
    }
  }
}

/// Makes a head of Foundation's response, from what its dictionary of fields preserves.
@_spi(Toolkit) public enum ReceivedHead {
  public static func head(of response: HTTPURLResponse) -> ResponseHead {
    var head = ResponseHead(status: HTTPStatus(response.statusCode))
    let lines = response.allHeaderFields.compactMap { key, value -> (FieldName, String)? in
      guard let name = key as? String, let name = try? FieldName(name) else { return nil }
      return (name, String(describing: value))
    }
    // The order is lost, but after sorting it is the same each time.
    for (name, value) in lines.sorted(by: { $0.0.canonicalName < $1.0.canonicalName }) {
      for line in name == .setCookie ? cookies(in: value) : [value] { head.fields.appendReceived(name, line) }
    }
    return head
  }

  /// Splits joined `Set-Cookie` lines at each comma before a cookie's name and `=`. The comma of a date is not such a
  /// comma.
  static func cookies(in joined: String) -> [String] {
    var lines: [String] = []
    for part in joined.split(separator: ",", omittingEmptySubsequences: false) {
      if lines.isEmpty || startsCookie(part) {
        lines.append(String(ASCII.trimmed(part)))
      } else {
        lines[lines.count - 1] += "," + part
      }
    }
    return lines
  }

  private static func startsCookie(_ part: Substring) -> Bool {
    let pair = ASCII.trimmed(part.prefix { $0 != ";" })
    guard let equals = pair.firstIndex(of: "=") else { return false }
    return Token.isValid(String(pair[..<equals]))
  }
}

extension TransferMetrics {
  /// Converts Foundation's metrics of one transaction. A missing date gives the time zero.
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

extension URLSessionConfiguration {
  /// `httpCookieStorage`, for modules that have their own property with that name.
  @_spi(Toolkit) public var foundationCookieStorage: HTTPCookieStorage? {
    get { httpCookieStorage }
    set { httpCookieStorage = newValue }
  }
}
