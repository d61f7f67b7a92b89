package enum NightshiftVersion {
    package static let current = "0.1.0"
}
