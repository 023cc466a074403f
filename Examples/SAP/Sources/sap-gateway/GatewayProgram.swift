import Dispatch
import Foundation
import SAPFoundationTesting
import SAPPrograms

/// Starts the gateway, and stops it with Ctrl-C.
@main
enum SAPGatewayProgram {
  static func main() async {
    do {
      let options = try GatewayOptions(Array(CommandLine.arguments.dropFirst()))
      guard !options.wantsHelp else { return write(GatewayOptions.help, to: .standardOutput) }
      let isQuiet = options.isQuiet
      let gateway = try ExampleGateway.start(port: options.port, faults: options.faults) { line in
        if !isQuiet { write(line + "\n", to: .standardError) }
      }
      let front = options.wantsClientCertificates ? try CertificateFront(for: gateway.url) : nil
      write(ExampleGateway.greeting(gateway) + (front?.greeting ?? ""), to: .standardOutput)
      await waitForSignal()
      withExtendedLifetime(front) { gateway.stop() }
    } catch {
      write("sap-gateway: \(error)\n", to: .standardError)
      exit(2)
    }
  }

  private static func write(_ text: String, to file: FileHandle) { try? file.write(contentsOf: Data(text.utf8)) }

  private static func waitForSignal() async {
    let (signals, inbox) = AsyncStream<Void>.makeStream()
    let sources = [SIGINT, SIGTERM].map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { inbox.yield() }
      source.activate()
      return source
    }
    for await _ in signals { break }
    for source in sources { source.cancel() }
  }
}
