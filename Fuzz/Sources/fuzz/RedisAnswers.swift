#if os(Linux)
@testable import MartletRedis

/// Answers of a Redis server. The result does not depend on how the bytes are cut, and no value exceeds the limit.
enum RedisAnswers {
  static func run(_ input: inout Input) {
    let limit = input.choice(of: [ReplyReader.answerLimit, 1_000, 10])
    let pieces = input.pieces()
    let (whole, parts) = (answers([input.bytes[...]], limit), answers(pieces, limit))
    check(parts == whole, "cut: \(parts), whole: \(whole)")
    check(whole.replies.allSatisfy { ($0.bytes?.count ?? 0) <= limit }, "\(whole)")
  }

  private struct Answers: Equatable {
    var replies: [RedisReply] = []
    var fault: ReplyFault?
  }

  private static func answers(_ pieces: [ArraySlice<UInt8>], _ limit: Int) -> Answers {
    var (reader, answers) = (ReplyReader(), Answers())
    for piece in pieces where answers.fault == nil {
      piece.withUnsafeBytes { bytes in
        var bytes = bytes
        do throws(ReplyFault) {
          while !bytes.isEmpty {
            if let reply = try reader.read(&bytes, upTo: limit) { answers.replies.append(reply) }
          }
        } catch { answers.fault = error }
      }
    }
    return answers
  }
}
#endif
