import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// The type that `value` decodes need not be `Sendable`.
@Suite(.timeLimit(.minutes(5)))
struct ValueIsolationTests {
  /// A class of the main actor, like a view's model.
  @MainActor final class Model: @MainActor Decodable {
    let name: String

    private enum Key: String, CodingKey { case name }

    init(from decoder: any Decoder) throws {
      MainActor.preconditionIsolated()
      name = try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .name)
    }
  }

  @MainActor struct Row: @MainActor Decodable {
    var name: String
  }

  final class Plain: Decodable {
    var name: String
  }

  private let session = HTTPSession(transport: MockTransport { _ in .json(#"{"name": "Ada"}"#) })

  @MainActor @Test func classOfTheMainActorIsDecodedThere() async throws {
    let (model, response) = try await session.value(of: Model.self, for: HTTPRequest(.get, origin))
    let (row, _) = try await session.value(of: Row.self, for: HTTPRequest(.get, origin))
    #expect(model.name == "Ada")
    #expect(row.name == "Ada")
    #expect(response.status == .ok)
  }

  @Test func classThatIsNotSendableIsDecodedWhereTheCallerIs() async throws {
    let (plain, _) = try await session.value(of: Plain.self, for: HTTPRequest(.get, origin))
    plain.name += " Lovelace"
    #expect(plain.name == "Ada Lovelace")
  }

  @Test func decoderOfTheSessionIsUsedUnlessThereIsAnother() async throws {
    struct Snake: Decodable { var firstName: String }
    let configuration = SessionConfiguration()
    configuration.decoder.keyDecodingStrategy = .convertFromSnakeCase
    let session = HTTPSession(
      transport: MockTransport { _ in .json(#"{"first_name": "Ada"}"#) }, configuration: configuration)

    let (snake, _) = try await session.value(of: Snake.self, for: HTTPRequest(.get, origin))

    #expect(snake.firstName == "Ada")
    await #expect(throws: HTTPError.self) {
      _ = try await session.value(of: Snake.self, for: HTTPRequest(.get, origin), decoder: JSONDecoder())
    }
  }
}
