@testable import MartletTesting
import Testing

@Suite struct RecordingModeTests {
  @Test(arguments: [
    (nil, false), ("", false), ("0", false), ("False", false), ("1", true), ("true", true), ("all", true),
  ])
  func theEnvironmentDecidesWhereNobodyElseDoes(value: String?, records: Bool) {
    let environment = value.map { ["MARTLET_RECORD": $0] } ?? [:]
    #expect(Recording.Mode.automatic.records(in: environment) == records)
    #expect(Recording.Mode.record.records(in: environment))
    #expect(!Recording.Mode.replay.records(in: environment))
  }
}
