// swift-tools-version: 6.3
import PackageDescription

let features: [SwiftSetting] = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"].map {
  .enableUpcomingFeature($0)
}
// Async functions stay on their caller's actor unless `@concurrent`; tests are compiled like most users' programs.
let settings = features + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
// The families share one package name, so that the tests of each can use the `package` declarations of Client/Support.
let packageName: [SwiftSetting] = [.unsafeFlags(["-package-name", "martlet"])]

extension Target {
  /// A module that sees none of the client's `package` declarations.
  static func outside(name: String, dependencies: [Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, packageAccess: false, swiftSettings: settings)
  }

  static func tests(
    name: String, dependencies: [Dependency], exclude: [String] = [], resources: [Resource] = []
  ) -> Target {
    .testTarget(
      name: name, dependencies: dependencies, exclude: exclude, resources: resources, packageAccess: false,
      swiftSettings: features + packageName)
  }

  /// A program that tests start.
  static func program(name: String, dependencies: [Dependency]) -> Target {
    .executableTarget(
      name: name, dependencies: dependencies, path: "Programs/\(name)", packageAccess: false,
      swiftSettings: settings + packageName)
  }
}

/// Modules of another family.
func from(_ family: String, _ modules: String...) -> [Target.Dependency] {
  modules.map { .product(name: $0, package: family) }
}

let package = Package(
  name: "Stores",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: ["MartletSQLite"].map { .library(name: $0, targets: [$0]) },
  dependencies: [.package(path: "../Client")],
  targets: [
    .systemLibrary(
      name: "CSQLite", path: "Sources/System/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .outside(
      name: "MartletSQLite", dependencies: ["CSQLite"] + from("Client", "MartletSemantics", "MartletEngine")),
    .program(
      name: "sqlite-writer",
      dependencies: ["MartletSQLite"] + from("Client", "MartletSemantics", "MartletEngine", "CallDoubles")),
    .tests(
      name: "MartletSQLiteTests",
      dependencies: ["CSQLite", "MartletSQLite", "sqlite-writer"]
        + from("Client", "MartletSemantics", "MartletEngine", "MartletTesting", "TestSupport"),
      exclude: ["Fixtures"]),
  ],
  swiftLanguageModes: [.v6]
)

// The stores of a fleet of processes, for Linux.
#if os(Linux)
package.products.append(.library(name: "MartletRedis", targets: ["MartletRedis"]))
package.targets += [
  .outside(
    name: "MartletRedis",
    dependencies: from("Client", "CSockets", "MartletSemantics", "MartletEngine", "MartletSignIn")),
  .tests(
    name: "MartletRedisTests",
    dependencies: ["MartletRedis"]
      + from("Client", "MartletSemantics", "MartletEngine", "MartletTesting", "TestSupport")),
]
#endif
