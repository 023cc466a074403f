#if os(Linux)
import CFuzz
import Glibc

/// The input of one run of a target, and the target's code.
///
/// A target ends the program if a condition does not hold that must always hold. An error that it throws also does
/// this.
struct Target: Sendable {
  let name: String
  let run: @Sendable (inout Input) throws -> Void

  /// All targets. `Corpus` has a folder for each, with the same name, which scripts/fuzz uses.
  private static let all = [
    Target(name: "http1", run: HTTP1Responses.run),
    Target(name: "http2", run: HTTP2Responses.run),
    Target(name: "connect", run: ProxyHandshakes.runConnect),
    Target(name: "socks5", run: ProxyHandshakes.runSOCKS5),
    Target(name: "upgrades", run: UpgradedStreams.run),
    Target(name: "websocket", run: WebSocketFrames.run),
    Target(name: "urls", run: URLTexts.run),
    Target(name: "text", run: Texts.run),
    Target(name: "json", run: JSONTexts.run),
    Target(name: "events", run: EventStreams.run),
    Target(name: "archives", run: Archives.run),
    Target(name: "redis", run: RedisAnswers.run),
    Target(name: "records", run: StoredRecords.run),
    Target(name: "sqlite", run: SQLiteFiles.run),
    Target(name: "keys", run: KeyFiles.run),
    Target(name: "images", run: Images.run),
  ]

  /// The target that the environment names.
  static let chosen: Target = {
    let name = getenv("MARTLET_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = all.first(where: { $0.name == name }) else {
      fatalError("MARTLET_FUZZ_TARGET is '\(name)': use one of \(all.map(\.name).joined(separator: ", "))")
    }
    return target
  }()
}

/// Runs one input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  var input = Input(Array(UnsafeBufferPointer(start: data, count: size)))
  do { try Target.chosen.run(&input) } catch { fatalError("\(Target.chosen.name): unexpected error: \(error)") }
  return 0
}

/// SwiftPM links a program's `main` under this name.
@_cdecl("fuzz_main")
public func main(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt {
  var (count, arguments) = (count, arguments)
  return LLVMFuzzerRunDriver(&count, &arguments, LLVMFuzzerTestOneInput)
}

/// Ends the program unless the condition holds. libFuzzer then reports the input.
func check(_ condition: @autoclosure () throws -> Bool, _ message: @autoclosure () -> String) rethrows {
  if try !condition() { fatalError(message()) }
}
#endif
