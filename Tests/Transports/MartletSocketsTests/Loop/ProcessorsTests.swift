#if os(Linux)
import Testing

@testable import MartletSockets

/// The number of processors that a process may use.
struct ProcessorsTests {
  @Test func thereIsAtLeastOne() { #expect(Processors.available() >= 1) }

  @Test(arguments: [
    ("max 100000\n", nil), ("100000 100000\n", 1), ("50000 100000", 1), ("1 100000", 1), ("100001 100000", 2),
    ("400000 100000", 4), ("", nil), ("100000", nil), ("a b", nil), ("0 100000", nil), ("100000 0", nil),
  ])
  func aQuotaIsRoundedUp(text: String, expected: Int?) { #expect(Processors.quota(text) == expected) }

  @Test func theQuotasOfAllGroupsAroundAProcessCount() {
    let groups = "1:cpu:/other\n0::/system.slice/a.service\n"
    #expect(
      Processors.quotaFiles(of: groups) == [
        "/sys/fs/cgroup/system.slice/a.service/cpu.max", "/sys/fs/cgroup/system.slice/cpu.max",
        "/sys/fs/cgroup/cpu.max",
      ])
    #expect(Processors.quotaFiles(of: "0::/\n") == ["/sys/fs/cgroup/cpu.max"])
    #expect(Processors.quotaFiles(of: "1:cpu:/other\n") == [])
  }
}
#endif
