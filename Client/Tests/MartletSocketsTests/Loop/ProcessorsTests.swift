#if os(Linux)
import Testing

@testable import MartletSockets

/// The number of processors that a process may use.
struct ProcessorsTests {
  @Test func thereIsAtLeastOne() { #expect(Processors.available() >= 1) }

  @Test(arguments: [
    ("max 100000\n", nil), ("100000 100000\n", 1), ("50000 100000", 1), ("1 100000", 1), ("100001 100000", 2),
    ("400000 100000", 4), ("", nil), ("100000", nil), ("a b", nil), ("0 100000", nil), ("100000 0", nil),
    ("-1\n100000\n", nil), ("150000\n100000\n", 2),
  ])
  func aQuotaIsRoundedUp(text: String, expected: Int?) { #expect(Processors.quota(text) == expected) }

  @Test func theQuotasOfAllGroupsAroundAProcessCount() {
    let groups = "1:devices:/other\n0::/system.slice/a.service\n"
    #expect(
      Processors.quotaFolders(of: groups) == [
        "/sys/fs/cgroup/system.slice/a.service", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup",
      ])
    #expect(Processors.quotaFolders(of: "0::/\n") == ["/sys/fs/cgroup"])
  }

  @Test(arguments: ["4:cpu,cpuacct:/docker/a:b\n", "4:cpuset,cpu:/docker/a:b\n", "3:memory:/x\n4:cpu:/docker/a:b\n"])
  func theGroupsOfVersion1ThatLimitProcessorsCount(groups: String) {
    #expect(
      Processors.quotaFolders(of: groups) == [
        "/sys/fs/cgroup/cpu/docker/a:b", "/sys/fs/cgroup/cpu/docker", "/sys/fs/cgroup/cpu",
      ])
  }

  @Test(arguments: ["", "\n", "4:cpuset:/a\n", "4:cpuacct:/a\n", "0::\n", "0:\n", "4:cpu\n", "1:name=cpu:/a\n"])
  func otherLinesCountForNothing(groups: String) { #expect(Processors.quotaFolders(of: groups) == []) }
}
#endif
