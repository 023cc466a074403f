import Foundation
import Martlet

/// httpbin, served by gunicorn.
final class Httpbin: Sendable {
  private let process: RealProcess

  /// One server for all tests of a run.
  static let shared = Result { try Httpbin() }

  init() throws {
    let port = try LocalPort.free()
    process = try RealProcess(
      Python.path(),
      [
        "-m", "gunicorn", "-b", "127.0.0.1:\(port)", "-k", "gthread", "--threads", "32", "--log-level", "error",
        "--keep-alive", "30", "--no-control-socket", "httpbin:app",
      ],
      port: port)
  }

  var port: Int { process.port }

  func callAsFunction(_ target: String) -> URL {
    URL(string: "http://127.0.0.1:\(process.port)\(target)") ?? URL(filePath: target)
  }
}

/// httpbin's data about a request, limited to what the tests use.
struct Echo: Decodable, Sendable {
  var method: String?
  var url: String?
  var args: [String: OneOrMore]?
  var headers: [String: String]?
  var form: [String: OneOrMore]?
  var files: [String: OneOrMore]?
  var data: String?
  var json: [String: String]?
  var cookies: [String: String]?
  var authenticated: Bool?
  var user: String?
  var token: String?
  var gzipped: Bool?
  var deflated: Bool?
  var brotli: Bool?

  enum OneOrMore: Decodable, Sendable, Equatable {
    case one(String)
    case more([String])

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      self = if let one = try? value.decode(String.self) { .one(one) } else { .more(try value.decode([String].self)) }
    }
  }
}
