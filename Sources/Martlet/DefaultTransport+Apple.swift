#if canImport(Darwin)
@_exported public import MartletURLSession

/// The wire of this platform: Foundation's URLSession.
public typealias DefaultTransport = URLSessionTransport
#endif
