#if canImport(Darwin)
@_exported public import MartletURLSession

/// The default transport on Apple's platforms: Foundation's URLSession.
public typealias DefaultTransport = URLSessionTransport
#endif
