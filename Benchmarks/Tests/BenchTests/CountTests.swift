import Testing

@testable import bench

@Suite struct CountTests {
  @Test func aCallgrindProfileGivesInstructionsAllocationsAndRetains() {
    let profile = CallgrindProfile(
      """
      version: 1
      events: Ir
      summary: 1234

      fn=main
      10 5
      cfn=malloc
      calls=3 0
      11 90
      cfn=swift_retain
      calls=7 0
      12 70
      cfn=free
      calls=2 0
      13 20
      fn=other
      cfn=calloc
      calls=4 20 3
      14 8
      totals: 1234
      """)

    #expect(profile.instructions == 1234)
    #expect(profile.allocations == 7)
    #expect(profile.retains == 7)
  }

  @Test func systemCallsAreSummedWithoutTheTotalAndThoseOfFutexOnTheirOwn() {
    let summary = """
          calls syscall
      --------- ----------------
             12 epoll_wait
              7 futex
              3 sendto
      --------- ----------------
             22 total
      """

    #expect(RequestCost.systemCalls(inSummary: summary) == (others: 15, futex: 7))
  }

  @Test func aFigureIsTheMedianWithTheRangeOfTheRounds() {
    #expect(Figure([3, 1, 2])?.median == 2)
    #expect(Figure([3, 1, 2])?.low == 1)
    #expect(Figure([3, 1, 2])?.high == 3)
    #expect(Figure([Double]()) == nil)
  }
}
