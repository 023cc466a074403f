import SAPFoundation

// Code for Foundation on Apple's platforms that the migration guide replaces.

func foundation() {
  // error: value of optional type 'URLError.Code?' must be unwrapped to a value of type 'URLError.Code'
  let code: URLError.Code = URLError.Code(rawValue: -999)
  // error: type 'NSLocale' has no member 'autoupdatingCurrent'
  _ = (code, NSLocale.autoupdatingCurrent)
  // error: cannot find 'NSDataDetector' in scope
  _ = try? NSDataDetector(types: 0)
  // error: 'init(format:_:)' has been renamed to 'init(block:)'
  _ = NSPredicate(format: "a == 1")
  // error: cannot find 'RelativeDateTimeFormatter' in scope
  _ = RelativeDateTimeFormatter()
  // error: cannot find 'autoreleasepool' in scope
  autoreleasepool {}
}

func networking(_ configuration: URLSessionConfiguration, _ space: URLProtectionSpace) {
  // error: 'NSURLAuthenticationMethodServerTrust' is unavailable
  _ = NSURLAuthenticationMethodServerTrust
  // error: 'serverTrust' is unavailable
  _ = space.serverTrust
  // error: 'NSURLAuthenticationMethodClientCertificate' is unavailable
  _ = NSURLAuthenticationMethodClientCertificate
  // error: value of type 'URLSessionConfiguration' has no member 'tlsMinimumSupportedProtocolVersion'
  configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
  // error: 'background(withIdentifier:)' is unavailable
  _ = URLSessionConfiguration.background(withIdentifier: "shop")
}
