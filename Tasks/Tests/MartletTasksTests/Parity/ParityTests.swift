import MartletSemantics
import MartletTesting
import Testing

/// Every surface has the same abilities, with the same results: the same scenarios in all their ways.
@Suite(.timeLimit(.minutes(5))) struct ParityTests {
  @Test(arguments: ParityScenario.table)
  func everyWayGivesTheSameOutcomeAndTheSameTraffic(scenario: ParityScenario) async throws {
    var reference: [String]?
    for way in ParityWay.session + ParityWay.tasks {
      let (outcome, requests) = try await way.run(scenario)

      let expected = way.decodes ? scenario.decoded ?? scenario.outcome : scenario.outcome
      #expect(outcome.agrees(with: expected), "\(way.name): \(outcome), not \(expected)")
      let traffic = requests.map { "\($0.method) \($0.target)" + ($0.text.isEmpty ? "" : " \($0.text)") }
      #expect(traffic == scenario.traffic, "\(way.name)")
      // A download asks for the bytes of the file itself, without a coding.
      let comparable = ParityWay.comparable(requests).map {
        way.name == "HTTPSession.download"
          ? $0.replacing("Accept-Encoding: identity", with: "Accept-Encoding: gzip, deflate, br, zstd") : $0
      }
      #expect(comparable == reference ?? comparable, "\(way.name)")
      reference = comparable
    }
  }

  @Test func outcomesThatDifferDoNotAgree() {
    let answer = ParityOutcome.answer(201, "a")
    #expect(answer.agrees(with: answer))
    #expect(ParityOutcome.answer(nil, "a").agrees(with: answer))
    #expect(!ParityOutcome.answer(nil, "b").agrees(with: answer))
    #expect(!ParityOutcome.answer(nil, "a").agrees(with: .answer(404, "a")))
    #expect(!ParityOutcome.undecodable.agrees(with: answer))
  }
}
