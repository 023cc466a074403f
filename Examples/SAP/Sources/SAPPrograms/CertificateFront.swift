package import Foundation
import MartletTesting

#if canImport(Glibc)
/// TLS in front of a gateway, which has none itself: it accepts clients that have a certificate of its authority.
///
/// The files are in a folder that only the user can enter. They, and the front, last as long as this object, and no
/// longer than the program, even if that is killed.
package final class CertificateFront: Sendable {
  /// `https://127.0.0.1:port`.
  package let url: URL
  /// The password of ``container``.
  package let password: String
  private let folder: TemporaryFolder
  private let program: ChildProcess

  /// Makes the certificates, and starts to accept connections.
  ///
  /// - Throws: `LoopbackServerError` if a program is missing, ``UsageMistake`` if one fails.
  package init(for gateway: URL) throws {
    // Its message says that the program is to be installed.
    for name in Self.programs { _ = try ChildProcess.path(of: name) }
    folder = try TemporaryFolder()
    program = try ChildProcess(
      "python3", [Self.script.path, "\(gateway.port ?? 80)", folder.url.path], output: .readWithErrors)
    var output = Data()
    while let more = program.read() {
      output += more
      guard output.last == UInt8(ascii: "\n") else { continue }
      let words = Self.text(output).split { $0.isWhitespace }.suffix(2)
      guard let port = words.first.flatMap({ Int($0) }), let url = URL(string: "https://127.0.0.1:\(port)") else {
        continue
      }
      (self.url, password) = (url, String(words[words.endIndex - 1]))
      return
    }
    throw UsageMistake(description: "cannot offer client certificates: \(Self.text(output))")
  }

  private static func text(_ output: Data) -> String {
    String(decoding: output, as: UTF8.self).trimmingCharacters(in: .newlines)
  }

  /// The programs that it needs.
  package static let programs = ["python3", "openssl"]

  /// The certificate of the authority that issued those of the front and the client, in PEM.
  package var authority: URL { folder.file("authority.pem") }

  /// The client's certificate and key, in PEM.
  package var client: URL { folder.file("client.pem") }

  /// The same as PKCS#12, with a password.
  package var container: URL { folder.file("client.p12") }

  /// What the program prints about it.
  package var greeting: String {
    """
    Clients with a certificate: \(url), until Ctrl-C, like its files. Try:
      curl --cacert '\(authority.path)' --cert '\(client.path)' -u anna:secret \(url)/odata/v4/Orders
    The same certificate for an app: \(container.path), password \(password)

    """
  }

  private static var script: URL { ExampleGateway.folder.appending(path: "tls-front.py") }
}
#else
/// TLS in front of a gateway, which is only offered on Linux.
package struct CertificateFront: Sendable {
  package let greeting = ""

  package init(for gateway: URL) throws {
    throw UsageMistake(description: "--client-certificates is only offered on Linux")
  }
}
#endif
