import Foundation
import MartletRedis
import MartletTesting

/// A separate Redis server, which stores nothing on disk.
final class RedisServer: Sendable {
  private let folder: TemporaryFolder
  private let process: RealProcess

  init(_ settings: [String] = []) throws {
    folder = try TemporaryFolder()
    let port = try LocalPort.free()
    process = try RealProcess(
      "redis-server",
      [
        "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder.url.path,
        "--pidfile", folder.file("pid").path, "--unixsocket", folder.file("socket").path, "--daemonize", "no",
      ] + settings,
      port: port)
  }

  var port: Int { process.port }

  var url: String { "redis://127.0.0.1:\(port)" }

  var socketURL: String { "unix://\(folder.file("socket").path)" }

  /// A configuration whose limit holds on a busy machine, with names of its own.
  func configuration(_ url: String? = nil) throws -> RedisConfiguration {
    var configuration = try RedisConfiguration(url ?? self.url)
    configuration.prefix = UUID().uuidString + ":"
    configuration.waitLimit = .seconds(20)
    configuration.connectTimeout = .seconds(20)
    return configuration
  }

  func client() throws -> RedisClient { RedisClient(try configuration()) }

  /// Stops the process: it accepts connections, but does not answer.
  func pause() throws { kill(try identifier, SIGSTOP) }

  func resume() throws { kill(try identifier, SIGCONT) }

  private var identifier: pid_t {
    get throws {
      let text = try String(contentsOf: folder.file("pid"), encoding: .utf8)
      guard let number = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
        throw RealServerError("redis-server has written no number of its process: \(text)")
      }
      return number
    }
  }

  /// A server for all tests that neither stop it nor count its content.
  static let shared = Result { try RedisServer() }
}
