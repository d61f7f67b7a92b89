/// The version of all programs. The gateway's package has a link to this file.
package enum NightshiftVersion {
    package static let current = "0.2.0"
}
