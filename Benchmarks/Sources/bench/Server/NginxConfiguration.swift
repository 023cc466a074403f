/// The text of nginx.conf: one process, no log of requests, and connections that live as long as the run.
struct NginxConfiguration {
  let folder: String
  let plainPort: UInt16
  let securePort: UInt16
  let secureHTTP1Port: UInt16

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
      server {
        listen 127.0.0.1:\(plainPort) backlog=4096;
        listen 127.0.0.1:\(securePort) ssl http2 backlog=4096;
        listen 127.0.0.1:\(secureHTTP1Port) ssl backlog=4096;
        ssl_certificate \(folder)/certificate.pem;
        ssl_certificate_key \(folder)/key.pem;
        root \(folder);
        # no client answers from its cache
        add_header Cache-Control no-store;
        \(codedFiles)
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
