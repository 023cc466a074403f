#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Takes connections in, on a thread of its own, and gives each a thread.
struct Acceptor: Sendable {
  let listener: Int32
  let settings: LoopbackServer.Settings
  let ledger: Watched<ServerLedger>

  func run() {
    while true {
      let descriptor = SystemCalls.acceptConnection(on: listener)
      if descriptor >= 0 {
        start(Socket(accepted: descriptor))
      } else if ledger.state.isStopped {
        break
      } else if errno == EMFILE || errno == ENFILE {
        // No descriptor left: connections wait in the queue until one is closed.
        poll(nil, 0, 10)
      }
    }
    close(listener)
  }

  private func start(_ socket: Socket) {
    guard let number = ledger.update({ $0.admit(socket) }) else { return socket.close() }
    let connection = ServerConnection(number: number, socket: socket, settings: settings, ledger: ledger)
    if SystemCalls.startThread({ connection.run() }) { return }
    ledger.update { $0.strikeOut(number) }
    socket.close()
    ledger.update { $0.ends[number] = .server }
  }
}
