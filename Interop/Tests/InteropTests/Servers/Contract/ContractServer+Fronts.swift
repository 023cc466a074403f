import Foundation

// The servers that forward to the origin. They answer `/hello`, `/early` and bodies that are too long themselves.

extension ContractServer {
  /// A GOAWAY after a hundred requests, and 128 streams.
  static let nginx = ContractServer(
    name: "nginx", package: "nginx", limitsRequests: [.http1, .http2],
    lacks: [
      Lack(.requestTrailers, "its proxy module drops them"), Lack(.responseTrailers, "its proxy module drops them"),
    ],
    largeField: [.http1: .status(400), .http2: .failure]
  ) { port, setting in
    let (root, keys) = (setting.folder.path, setting.keys)
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(root)/\($0);" }
    let forward = "proxy_pass http://origin; proxy_http_version 1.1; proxy_request_buffering off;"
    let configuration = """
      daemon off; master_process off; pid \(root)/pid; error_log \(root)/error.log;
      events { worker_connections 512; }
      http {
        access_log off; default_type text/plain; \(temporary.joined(separator: " "))
        keepalive_requests 100; keepalive_timeout 1s; client_max_body_size 100m;
        gzip on; gzip_types text/plain; gzip_proxied any;
        upstream origin { server 127.0.0.1:\(setting.origin); keepalive 8; }
        server {
          listen 127.0.0.1:\(port) ssl http2;
          ssl_certificate \(keys)/server.pem; ssl_certificate_key \(keys)/server.key;
          ssl_client_certificate \(keys)/ca.pem; ssl_verify_client on;
          proxy_set_header Connection "";
          location / { \(forward) }
          location = /hello { return 200 hello; }
          location = /early { return 403 no; }
          location = /small { client_max_body_size 1m; \(forward) }
        }
      }
      """
    try Data(configuration.utf8).write(to: setting.folder.appending(path: "nginx.conf"))
    let arguments = ["-p", root, "-c", "nginx.conf", "-e", "error.log"]
    return [try RealProcess("nginx", arguments, port: port)]
  }

  /// Window updates of one byte, resets with CANCEL, buffers of 16 KiB.
  static let haproxy = ContractServer(
    name: "HAProxy", package: "haproxy", largeField: [.http1: .status(400), .http2: .failure]
  ) { port, setting in
    let keys = setting.keys
    let configuration = """
      global
        maxconn 500
      defaults
        mode http
        timeout connect 5s
        timeout client 60s
        timeout server 60s
        timeout http-keep-alive 1s
        compression algo gzip
        compression type text/plain
      frontend contract
        bind 127.0.0.1:\(port) ssl crt \(keys)/both.pem ca-file \(keys)/ca.pem verify required alpn h2,http/1.1
        http-request return status 200 content-type text/plain string hello if { path /hello }
        http-request return status 403 content-type text/plain string no if { path /early }
        http-request deny deny_status 413 if { path /small } { req.hdr_val(content-length) gt 1048576 }
        default_backend origin
      backend origin
        server origin 127.0.0.1:\(setting.origin)

      """
    let file = setting.folder.appending(path: "haproxy.cfg")
    try Data(configuration.utf8).write(to: file)
    return [try RealProcess("haproxy", ["-db", "-f", file.path], port: port)]
  }

  /// A window that grows, and a hundred requests on each connection over HTTP/1.1.
  static let apache = ContractServer(
    name: "Apache httpd", package: "apache2-bin", limitsRequests: [.http1],
    lacks: [
      Lack(.requestTrailers, "its proxy module drops them"),
      Lack(.responseTrailers, over: [.http1], "they are dropped"),
    ],
    largeField: [.http1: .status(400), .http2: .status(431)]
  ) { port, setting in
    let (root, keys) = (setting.folder.path, setting.keys)
    let modules = [
      "mpm_event", "authz_core", "mime", "alias", "ssl", "socache_shmcb", "http2", "proxy", "proxy_http", "filter",
      "deflate", "rewrite",
    ]
    let configuration = """
      \(Apache.basics(in: root, named: "localhost", with: modules))
      Listen 127.0.0.1:\(port)
      Protocols h2 http/1.1
      KeepAliveTimeout 1
      MaxKeepAliveRequests 100
      TypesConfig \(root)/types
      AddOutputFilterByType DEFLATE text/plain
      DocumentRoot \(root)/files
      <Directory \(root)/files>
        Require all granted
        ForceType text/plain
      </Directory>
      SSLEngine on
      SSLCertificateFile \(keys)/server.pem
      SSLCertificateKeyFile \(keys)/server.key
      SSLCACertificateFile \(keys)/ca.pem
      SSLVerifyClient require
      Redirect 403 /early
      RewriteEngine on
      RewriteCond %{HTTP:Content-Length} -gt1048576
      RewriteRule ^/small$ - [R=413]
      ProxyPass /hello !
      ProxyPass /early !
      ProxyPass / http://127.0.0.1:\(setting.origin)/
      """
    let files = setting.folder.appending(path: "files")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    try Data("hello".utf8).write(to: files.appending(path: "hello"))
    try Data("text/plain txt\n".utf8).write(to: setting.folder.appending(path: "types"))
    let file = setting.folder.appending(path: "httpd.conf")
    try Data(configuration.utf8).write(to: file)
    return [try RealProcess("apache2", ["-X", "-f", file.path], port: port)]
  }

  /// Go's HTTP/2, and two `100 Continue`.
  static let caddy = ContractServer(
    name: "Caddy", package: "caddy", lacks: [Lack(.requestTrailers, "its proxy drops them")],
    largeField: [.http1: .status(431), .http2: .failure]
  ) { port, setting in
    let keys = setting.keys
    let configuration = """
      {
        admin off
        auto_https disable_redirects
        skip_install_trust
        servers {
          max_header_size 32KB
          timeouts {
            idle 1s
          }
        }
      }
      https://localhost:\(port) {
        bind 127.0.0.1
        tls \(keys)/server.pem \(keys)/server.key {
          client_auth {
            mode require_and_verify
            trusted_ca_cert_file \(keys)/ca.pem
          }
        }
        encode gzip
        handle /hello {
          respond hello
        }
        handle /early {
          respond no 403
        }
        handle /small {
          request_body {
            max_size 1MB
          }
          reverse_proxy 127.0.0.1:\(setting.origin)
        }
        handle {
          reverse_proxy 127.0.0.1:\(setting.origin)
        }
      }

      """
    let file = setting.folder.appending(path: "Caddyfile")
    try Data(configuration.utf8).write(to: file)
    let folders = ["HOME=\(setting.folder.path)", "XDG_DATA_HOME=\(setting.folder.path)"]
    let arguments = folders + ["caddy", "run", "--adapter", "caddyfile", "--config", file.path]
    return [try RealProcess("env", arguments, port: port)]
  }

  /// Windows of 16 MiB, and priorities.
  static let h2o = ContractServer(
    name: "h2o", package: "h2o",
    lacks: [
      Lack(.clientCertificate, "version 2.2 does not ask for any"),
      Lack(.bodyLimit, "it has one limit for all paths"),
      Lack(.earlyAnswer, "it reads a body before it answers"),
      Lack(.requestTrailers, "it does not forward them"),
      Lack(.responseTrailers, "it does not forward them"),
    ],
    largeField: [.http1: .status(200), .http2: .status(200)]
  ) { port, setting in
    let (root, keys) = (setting.folder.path, setting.keys)
    let configuration = """
      listen:
        host: 127.0.0.1
        port: \(port)
        ssl:
          certificate-file: \(keys)/server.pem
          key-file: \(keys)/server.key
      hosts:
        "localhost:\(port)":
          paths:
            "/hello":
              file.file: \(root)/hello.txt
            "/":
              proxy.reverse.url: "http://127.0.0.1:\(setting.origin)/"
      compress: [gzip]
      http1-request-timeout: 1
      http2-idle-timeout: 1
      limit-request-body: 1073741824
      pid-file: \(root)/pid
      error-log: \(root)/error.log
      user: root

      """
    try Data("hello".utf8).write(to: setting.folder.appending(path: "hello.txt"))
    let file = setting.folder.appending(path: "h2o.yaml")
    try Data(configuration.utf8).write(to: file)
    return [try RealProcess("h2o", ["-m", "worker", "-c", file.path], port: port)]
  }
}
