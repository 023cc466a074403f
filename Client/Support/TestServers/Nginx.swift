package import Foundation
import MartletTesting

/// nginx with TLS, HTTP/2, gzip, and ports that require or accept a client certificate.
package final class Nginx: Sendable {
  package let authority: TestAuthority
  private let folder: TemporaryFolder
  private let process: RealProcess
  private let ports: Ports

  private struct Ports: Sendable {
    let plain: Int
    let tls: Int
    let client: Int
    let user: Int
    let stranger: Int
    let old: Int
    let brief: Int
    let single: Int
  }

  /// The instance for all tests of a run.
  package static let shared = Result { try Nginx() }

  package init() throws {
    authority = try TestAuthority()
    folder = try TemporaryFolder()
    ports = Ports(
      plain: try LocalPort.free(), tls: try LocalPort.free(), client: try LocalPort.free(),
      user: try LocalPort.free(), stranger: try LocalPort.free(), old: try LocalPort.free(),
      brief: try LocalPort.free(), single: try LocalPort.free())
    try folder.write(Data(String(repeating: "martlet ", count: 10_000).utf8), to: "long.txt")
    try folder.write(Data("hello".utf8), to: "hello.txt")
    try folder.write(Data("anna:{PLAIN}secret\n".utf8), to: "users")
    try folder.write(Data(count: 1_000_000), to: "zeros.bin")
    try folder.write(Data(count: 12_000_000), to: "zeros.txt")
    try Data(Self.configuration(ports, folder.url.path, authority.folder.url.path).utf8)
      .write(to: folder.file("nginx.conf"))
    process = try RealProcess(
      "nginx", ["-p", folder.url.path, "-c", "nginx.conf", "-e", "error.log"], port: ports.plain)
  }

  package func plain(_ path: String) -> URL { url("http", ports.plain, path) }
  package func tls(_ path: String) -> URL { url("https", ports.tls, path) }
  /// Requires a client certificate.
  package func client(_ path: String) -> URL { url("https", ports.client, path) }
  /// Accepts a client certificate, over HTTP/2 too. `/user` returns its name and the number of the connection. `/token`
  /// returns a token that is bound to the certificate, which `/bound` requires.
  package func user(_ path: String) -> URL { url("https", ports.user, path) }
  /// Has a certificate for another name.
  package func stranger(_ path: String) -> URL { url("https", ports.stranger, path) }
  /// Ends every connection after a few requests.
  package func brief(_ path: String) -> URL { url("https", ports.brief, path) }
  /// Serves one request at a time on a connection, over HTTP/2 too.
  package func single(_ path: String) -> URL { url("https", ports.single, path) }
  /// Supports TLS 1.2 only.
  package func old(_ path: String) -> URL { url("https", ports.old, path) }

  private func url(_ scheme: String, _ port: Int, _ path: String) -> URL {
    URL(string: "\(scheme)://127.0.0.1:\(port)\(path)") ?? folder.url
  }

  private static func configuration(_ ports: Ports, _ root: String, _ keys: String) -> String {
    func server(_ listen: String, _ certificate: String?, _ more: String = "ssl_protocols TLSv1.2 TLSv1.3;") -> String {
      let tls = certificate.map { "ssl_certificate \(keys)/\($0).pem; ssl_certificate_key \(keys)/\($0).key;" } ?? ""
      return """
        server {
          listen 127.0.0.1:\(listen); root \(root); \(tls) \(more)
          location /protocol { return 200 "$server_protocol $ssl_protocol"; }
          location /certificate { return 200 "$ssl_client_s_dn"; }
          location /user { return 200 "$ssl_client_s_dn $connection $server_protocol"; }
          location /private/ { auth_basic "private"; auth_basic_user_file \(root)/users; alias \(root)/; }
          location /put { client_max_body_size 100m; proxy_pass http://127.0.0.1:\(ports.plain)/sink; }
          location /small { client_max_body_size 1k; return 200 "$request_length"; }
          location /sink { client_max_body_size 100m; return 200 "$request_length"; }
          location /slow.bin { limit_rate 1k; alias \(root)/zeros.bin; }
          location /moved { return 302 /hello.txt; }
          location /busy { return 503 "$connection_requests"; }
          location /token { default_type application/json; return 200 '{"access_token":"$ssl_client_fingerprint","token_type":"Bearer"}'; }
          location /bound { if ($http_authorization = "Bearer $ssl_client_fingerprint") { return 200 "bound"; } return 401; }
          location /uri { return 200 "$request_uri"; }
          location /fields { client_max_body_size 100m; return 200 "$http_accept_encoding,$http_expect,$http_cookie,$http_x_test"; }
          location /cookie { add_header Set-Cookie "a=1; SameSite=Strict; Path=/"; return 200 "set"; }
          location /fresh { add_header Cache-Control max-age=600; return 200 "$request_id"; }
        }
        """
    }
    return """
      daemon off; master_process off; pid nginx.pid; error_log error.log;
      events { worker_connections 512; }
      http {
        access_log off; default_type text/plain; types { application/octet-stream bin; } gzip on; gzip_types text/plain; gzip_min_length 100;
        client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
        \(server("\(ports.plain)", nil))
        \(server("\(ports.tls) ssl http2", "server"))
        \(server("\(ports.client) ssl", "server", "ssl_protocols TLSv1.2 TLSv1.3; ssl_client_certificate \(keys)/ca.pem; ssl_verify_client on;"))
        \(server("\(ports.user) ssl http2", "server", "ssl_client_certificate \(keys)/ca.pem; ssl_verify_client optional; keepalive_timeout 1h;"))
        \(server("\(ports.stranger) ssl", "stranger"))
        \(server("\(ports.brief) ssl http2", "server", "keepalive_requests 20;"))
        \(server("\(ports.old) ssl", "server", "ssl_protocols TLSv1.2;"))
        \(server("\(ports.single) ssl http2", "server", "http2_max_concurrent_streams 1;"))
      }
      """
  }
}
