// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "nightshift-benchmarks",
    targets: [
        .executableTarget(
            name: "nightshift-bench",
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .treatAllWarnings(as: .error),
            ])
    ]
)
