import CEcho
import CSink
import Foundation
import MeasuredClient

/// The server that returns the messages of WebSockets: threads of this process, until it ends.
struct EchoServer {
  let url: URL

  init() throws {
    let port = cecho_start()
    guard port > 0, let url = URL(string: "http://127.0.0.1:\(port)/") else {
      throw BenchError("the server for WebSockets does not start")
    }
    self.url = url
  }
}

/// The server for uploads and for late answers: a thread of this process, until it ends.
struct Sink {
  let url: URL

  init() throws {
    guard let sink = csink_start(1000), let url = URL(string: "http://127.0.0.1:\(csink_port(sink))/") else {
      throw BenchError("the server for uploads does not start")
    }
    self.url = url
  }
}
