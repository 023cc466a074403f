#if os(Linux)
@_exported public import MartletCurl

/// The wire of this platform: the system's libcurl.
public typealias DefaultTransport = CurlTransport
#endif
