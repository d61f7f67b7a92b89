// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "nightshift-benchmarks",
    dependencies: [.package(name: "nightshift", path: "..")],
    targets: [
        // This app is suspended, woken and measured.
        .executableTarget(name: "bench-app", dependencies: [.product(name: "Nightshift", package: "nightshift")]),
        .executableTarget(
            name: "nightshift-bench",
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .treatAllWarnings(as: .error),
            ]),
    ]
)
