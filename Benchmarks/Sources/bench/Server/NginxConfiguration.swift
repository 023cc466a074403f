import Foundation
import MeasuredClient

/// The text of nginx.conf: one process, no log of requests, and connections that live as long as the run, except for
/// the servers that close each after its response.
struct NginxConfiguration {
  /// Where the servers listen.
  enum Listener: Int, CaseIterable {
    case plain, secure, secureHTTP1, closing, closingSecure, closingSecureWithoutTickets

    var isSecure: Bool { self != .plain && self != .closing }
  }

  let folder: String
  /// In the order of the listeners.
  let ports: [UInt16]

  func url(_ listener: Listener) throws -> URL {
    let scheme = listener.isSecure ? "https" : "http"
    guard let url = URL(string: "\(scheme)://127.0.0.1:\(ports[listener.rawValue])/") else {
      throw BenchError("there is no port for nginx")
    }
    return url
  }

  private func listen(_ listener: Listener, _ options: String) -> String {
    "listen 127.0.0.1:\(ports[listener.rawValue])\(options) backlog=4096;"
  }

  var text: String {
    """
    daemon off;
    master_process off;
    pid \(folder)/nginx.pid;
    error_log \(folder)/error.log;
    worker_rlimit_nofile 16384;
    events { worker_connections 12000; }
    http {
      access_log off;
      sendfile on;
      tcp_nopush on;
      keepalive_requests 1000000000;
      keepalive_timeout 3600s;
      open_file_cache max=16;
      client_body_temp_path \(folder)/body;
      proxy_temp_path \(folder)/proxy;
      fastcgi_temp_path \(folder)/fastcgi;
      uwsgi_temp_path \(folder)/uwsgi;
      scgi_temp_path \(folder)/scgi;
      default_type application/octet-stream;
      ssl_certificate \(folder)/certificate.pem;
      ssl_certificate_key \(folder)/key.pem;
      root \(folder);
      # no client answers from its cache
      add_header Cache-Control no-store;
      server {
        \(listen(.plain, ""))
        \(listen(.secure, " ssl http2"))
        \(listen(.secureHTTP1, " ssl"))
        \(codedFiles)
      }
      server {
        \(listen(.closing, ""))
        \(listen(.closingSecure, " ssl"))
        keepalive_timeout 0;
      }
      server {
        \(listen(.closingSecureWithoutTickets, " ssl"))
        keepalive_timeout 0;
        ssl_session_tickets off;
        ssl_session_cache off;
      }
    }

    """
  }

  /// The files that were compressed in advance. A `location` with fields does not inherit others.
  private var codedFiles: String {
    CodedFile.allCases.map { file in
      """
      location = /\(file.name) { add_header Content-Encoding \(file.rawValue); add_header Cache-Control no-store; }
      """
    }.joined(separator: "\n        ")
  }
}
