// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "Martlet") }

// One program with all targets of `make fuzz`. It has no `main`: libFuzzer has one, and scripts/fuzz links it.
let package = Package(
  name: "Fuzz",
  dependencies: [.package(name: "Martlet", path: "..")],
  targets: [
    // libFuzzer, and libcurl's parser of URLs, with which Martlet's must agree.
    .systemLibrary(name: "CFuzz", pkgConfig: "libcurl"),
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "CFuzz", product("Martlet"), product("MartletImages"), product("MartletObservation"), product("MartletRedis"),
        product("MartletSQLite"), product("MartletSignIn"), product("MartletTesting"), product("MartletWebSocket"),
        product("SAPFoundation"), product("SAPOData"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
