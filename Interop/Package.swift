// swift-tools-version: 6.2
import PackageDescription

// Sessions against servers, proxies and readers that others wrote. Run it with `make interop`.
let package = Package(
  name: "Interop",
  dependencies: [.package(name: "Martlet", path: "..")],
  targets: [
    // RealServers in there is a link to what the root's own tests start: it is kept once.
    .testTarget(
      name: "InteropTests",
      dependencies: [
        .product(name: "Martlet", package: "Martlet"), .product(name: "MartletImages", package: "Martlet"),
        .product(name: "MartletTesting", package: "Martlet"), .product(name: "MartletCurl", package: "Martlet"),
      ],
      exclude: ["Pictures/corpus.py"],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
