#if os(Linux)
@_exported public import MartletCurl

/// The default transport on Linux: the system's libcurl.
public typealias DefaultTransport = CurlTransport
#endif
