// swift-tools-version: 6.2
import PackageDescription

// The costs of Martlet, compared with a plain C loop on libcurl, URLSession and others. If the environment names a
// checkout of AsyncHTTPClient, it is compared, too: `ASYNC_HTTP_CLIENT=/path/to/async-http-client make bench`.
let asyncHTTPClient = Context.environment["ASYNC_HTTP_CLIENT"]

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "Martlet") }

let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "Martlet", path: "..")]
    + (asyncHTTPClient.map { [.package(name: "async-http-client", path: $0)] } ?? []),
  targets: [
    // The practical limit: only libcurl and epoll.
    .target(name: "CLoop", linkerSettings: [.linkedLibrary("curl")]),
    .target(name: "CEcho", linkerSettings: [.linkedLibrary("crypto")]),
    .target(name: "CSink"),
    .target(
      name: "CCompress",
      linkerSettings: [.linkedLibrary("z"), .linkedLibrary("brotlienc"), .linkedLibrary("zstd")]),
    .target(name: "CTurbo", linkerSettings: [.linkedLibrary("turbojpeg")]),
    // The messages to and from a program that makes the requests of a measurement.
    .target(name: "MeasuredClient", swiftSettings: settings),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CCompress", "CEcho", "CLoop", "CSink", "CTurbo", "MeasuredClient", product("Martlet"),
        product("MartletImages"), product("MartletInspector"), product("MartletSQLite"), product("MartletSockets"),
        product("MartletTasks"), product("MartletTesting"), product("MartletWebSocket"), product("SAPFoundation"),
      ],
      swiftSettings: settings),
    // The smallest programs that get a URL, for measurements of cold start and size.
    .executableTarget(name: "start-martlet", dependencies: [product("Martlet")], swiftSettings: settings),
    .executableTarget(name: "start-urlsession", swiftSettings: settings),
    .executableTarget(name: "start-libcurl", linkerSettings: [.linkedLibrary("curl")]),
    .testTarget(name: "BenchTests", dependencies: ["bench", "MeasuredClient"], swiftSettings: settings),
  ]
    + (asyncHTTPClient == nil
      ? []
      : [
        .executableTarget(
          name: "bench-async-http-client",
          dependencies: ["MeasuredClient", .product(name: "AsyncHTTPClient", package: "async-http-client")],
          swiftSettings: settings)
      ]),
  swiftLanguageModes: [.v6]
)
