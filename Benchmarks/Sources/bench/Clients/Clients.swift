import Foundation

/// The clients that are compared; the first is what the others are measured by.
enum Clients {
  static func all(
    at server: RunningServer, transports: [MeasuredTransport] = MeasuredTransport.allCases
  ) throws -> [any Client] {
    var clients: [any Client] = [try LoopClient(authority: server.certificate)]
    clients += transports.map { SessionClient($0, authority: server.certificate) }
    #if ASYNC_HTTP_CLIENT
    clients.append(AsyncHTTPClientClient(authority: server.certificate))
    #endif
    clients.append(FoundationClient())
    return clients
  }
}
