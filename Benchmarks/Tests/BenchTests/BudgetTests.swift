import Testing

@testable import bench

@Suite struct BudgetTests {
  private func budget(_ cost: RequestCost, _ client: String = "bare") -> Budget {
    Budget(costs: ["small": [client: cost]])
  }

  private let allowed = RequestCost(instructions: 100_000, allocations: 50, retains: 200, systemCalls: 4)

  @Test func costsWithinTheTolerancesAreAllowed() {
    let measured = RequestCost(instructions: 102_900, allocations: 51, retains: 900, systemCalls: 4.3)

    #expect(budget(allowed).violations(of: budget(measured)) == [])
  }

  @Test(arguments: [
    (RequestCost(instructions: 103_100, allocations: 50, retains: 200, systemCalls: 4), "instructions"),
    (RequestCost(instructions: 100_000, allocations: 52, retains: 200, systemCalls: 4), "allocations"),
    (RequestCost(instructions: 100_000, allocations: 50, retains: 200, systemCalls: 4.5), "system calls"),
  ])
  func aCostAboveTheToleranceIsNamed(measured: RequestCost, name: String) {
    let violations = budget(allowed).violations(of: budget(measured))

    #expect(violations.count == 1)
    #expect(violations.allSatisfy { $0.contains(name) && $0.contains("small, bare") })
  }

  @Test func aClientWithoutABudgetIsAViolation() {
    #expect(budget(allowed).violations(of: budget(allowed, "default")).count == 1)
  }

  @Test func loweringTakesTheLowerOfEachFigureAndAddsWhatIsNew() {
    let measured = RequestCost(instructions: 90_000, allocations: 60, retains: 100, systemCalls: 4)

    let lowered = budget(allowed).lowered(to: budget(measured)).lowered(to: budget(measured, "default"))

    let expected = RequestCost(instructions: 90_000, allocations: 50, retains: 100, systemCalls: 4)
    #expect(lowered.costs == ["small": ["bare": expected, "default": measured]])
  }
}
