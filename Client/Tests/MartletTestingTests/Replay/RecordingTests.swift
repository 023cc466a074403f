import MartletEngine
import MartletSemantics
@testable import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RecordingTests {
  @Test(arguments: [
    (nil, false), ("", false), ("0", false), ("False", false), ("1", true), ("true", true), ("all", true),
  ])
  func theEnvironmentDecidesInAutomaticMode(value: String?, records: Bool) {
    let environment = value.map { ["MARTLET_RECORD": $0] } ?? [:]
    #expect(Recording.Mode.automatic.records(in: environment) == records)
    #expect(Recording.Mode.record.records(in: environment))
    #expect(!Recording.Mode.replay.records(in: environment))
  }

  @Test func anInvalidFileIsAnErrorThatNamesItAndTheRemedy() throws {
    let folder = try TemporaryFolder()
    for file in [folder.url.appending(path: "none.har"), try folder.write(Data("{}".utf8), to: "other.har")] {
      let failure = #expect(throws: HTTPError.self) {
        _ = try Recording(file: file, mode: .replay, around: ScriptedTransport())
      }
      #expect(failure?.kind == .file)
      #expect(failure?.message.contains("'\(file.path)'") == true)
      #expect(failure?.message.contains("MARTLET_RECORD=1") == true)
    }
  }
}
