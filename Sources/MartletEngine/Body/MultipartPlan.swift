import MartletSemantics
import Synchronization

/// A multipart body, laid out: what stands between the parts as bytes, and the parts that have to be read.
struct MultipartPlan: Sendable {
  enum Segment: Sendable {
    case bytes(Data)
    case body(RequestBody, name: String)
  }

  private(set) var segments: [Segment] = []
  /// Why the form cannot be sent.
  private var refusal: HTTPError?
  /// Up to this size content in memory is joined with what stands around it.
  private static let joinLimit = 64 << 10

  init(_ form: MultipartForm, boundary: String) {
    for (index, part) in form.parts.enumerated() {
      refusal = refusal ?? Self.refusal(of: part)
      join(
        MultipartSyntax.head(
          name: part.name, fileName: part.fileName, contentType: part.contentType, boundary: boundary,
          isFirst: index == 0))
      if let bytes = part.body.bytes, bytes.count <= Self.joinLimit {
        join(bytes)
      } else {
        segments.append(.body(part.body, name: part.name))
      }
    }
    join(MultipartSyntax.end(boundary: boundary, isEmpty: form.parts.isEmpty))
  }

  /// Everything, where it is little and in memory.
  var bytes: Data? {
    guard refusal == nil, segments.count == 1, case .bytes(let data) = segments[0] else { return nil }
    return data
  }

  /// The length, where it is known without looking at files.
  var length: Int64? { sum(of: segments.map(\.length)) }

  /// Looks at every file, so that a missing one is known before anything is sent.
  func open() async throws -> OpenBody {
    if let refusal { throw refusal }
    var lengths: [Int64?] = []
    for segment in segments {
      // opened and closed again: a form of a thousand files must not take a thousand descriptors
      if case .body(let body, _) = segment, case .file = body.storage {
        lengths.append(try await body.open().length)
      } else {
        lengths.append(segment.length)
      }
    }
    return OpenBody(source: MultipartSource(Array(zip(segments, lengths))), length: sum(of: lengths))
  }

  private mutating func join(_ data: Data) {
    guard case .bytes(var joined)? = segments.last else { return segments.append(.bytes(data)) }
    segments.removeLast()
    joined.append(data)
    segments.append(.bytes(joined))
  }

  private func sum(of lengths: [Int64?]) -> Int64? {
    lengths.reduce(0) { sum, length in sum.flatMap { sum in length.map { sum + $0 } } }
  }

  /// What a part cannot have: a type that would end its line, or a coding that it cannot name (RFC 7578 §4.8).
  private static func refusal(of part: MultipartForm.Part) -> HTTPError? {
    var fields = HTTPFields()
    fields[.contentType] = part.contentType?.description
    if let refusal = fields.refusal { return HTTPError(wrapping: refusal) }
    guard part.body.fields.contains(.contentEncoding) else { return nil }
    return HTTPError(
      .invalidRequest,
      "the part '\(part.name)' of a multipart form is compressed: a part cannot say so; compress the whole body, or none",
      phase: .preparing)
  }
}

extension MultipartPlan.Segment {
  fileprivate var length: Int64? {
    switch self {
    case .bytes(let data): Int64(data.count)
    case .body(let body, _): body.length
    }
  }
}

/// Reads a multipart body, one part after another.
final class MultipartSource: BodySource {
  typealias Piece = (segment: MultipartPlan.Segment, length: Int64?)

  private struct State: Sendable {
    var rest: ArraySlice<Piece>
    var current: (any BodySource)?
  }

  private let state: Mutex<State>

  init(_ pieces: [Piece]) { state = Mutex(State(rest: pieces[...])) }

  func next() async throws -> Data? {
    while true {
      if let current = state.withLock({ $0.current }) {
        if let chunk = try await current.next() { return chunk }
        state.withLock { $0.current = nil }
      }
      switch state.withLock({ $0.rest.popFirst() }) {
      case nil: return nil
      case (.bytes(let data), _)?: return data
      case (.body(let body, let name), let length)?:
        let open = try await body.open()
        // where no length was promised, as for a form within the form, any will do
        guard length == nil || open.length == length else {
          throw HTTPError(
            .file, "the content of the part '\(name)' changed its length while the form was sent", phase: .sending)
        }
        state.withLock { $0.current = open.source }
      }
    }
  }

  func cancel() { state.withLock { $0.current }?.cancel() }
}
