import MartletCombine
import Testing

/// The example of the family's README.
@Suite(.timeLimit(.minutes(5)))
struct ReadMeTests {
  @Test func theExampleOfTheReadMeRuns() {
    let query = CurrentValueSubject<String, Never>("")
    let subscription = query.removeDuplicates().filter { !$0.isEmpty }.sink { text in print(text) }
    query.send("rain")

    subscription.cancel()
    #expect(query.value == "rain")
  }
}
