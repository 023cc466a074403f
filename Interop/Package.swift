// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "Martlet") }

// Sessions with other servers, proxies and readers: `make interop`, `make scores`.
let package = Package(
  name: "Interop",
  dependencies: [.package(name: "Martlet", path: "..")],
  targets: [
    // Makes the requests of public suites: see Scores/scores.mjs.
    .executableTarget(
      name: "scores-client", dependencies: [.product(name: "Martlet", package: "Martlet")], path: "Scores/Client",
      swiftSettings: settings),
    // RealServers in this folder is a link to the servers that the root's own tests start, so there is one copy.
    .testTarget(
      name: "InteropTests",
      dependencies: [
        product("Martlet"), product("MartletImages"), product("MartletKerberos"), product("MartletObservation"),
        product("MartletSignIn"), product("MartletSignatures"), product("MartletTesting"), product("MartletWebSocket"),
        product("SAPOData"),
      ],
      exclude: [
        "OData/service.py", "Pictures/corpus.py", "Tokens/authorization.py", "WebSocket/node.cjs", "WebSocket/peers.py",
      ],
      swiftSettings: settings),
    // Contracts in this folder is a link to the contracts of stores, which the stores in memory and SQLite files also
    // fulfil.
    .testTarget(
      name: "RedisTests", dependencies: [product("Martlet"), product("MartletRedis"), product("MartletTesting")],
      swiftSettings: settings),
    // Processes that share a Redis server: `make fleet`.
    .executableTarget(
      name: "fleet", dependencies: [product("Martlet"), product("MartletRedis"), product("MartletTesting")],
      path: "Fleet", swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
