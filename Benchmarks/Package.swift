// swift-tools-version: 6.2
import PackageDescription

// What Martlet costs, beside a plain C loop on the same library and beside URLSession. Run it with `make bench`.
let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "Martlet", path: "..")],
  targets: [
    // The practical limit: libcurl, epoll and nothing else.
    .target(name: "CLoop", linkerSettings: [.linkedLibrary("curl")]),
    .target(name: "CTurbo", linkerSettings: [.linkedLibrary("turbojpeg")]),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CLoop", "CTurbo",
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
        .product(name: "MartletSQLite", package: "Martlet"),
        .product(name: "MartletTesting", package: "Martlet"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
