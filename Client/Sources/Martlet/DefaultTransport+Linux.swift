#if os(Linux)
@_exported public import MartletSockets

/// The default transport on Linux: the system's sockets, OpenSSL and nghttp2.
public typealias DefaultTransport = SocketTransport
#endif
