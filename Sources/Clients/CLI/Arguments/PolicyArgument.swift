import ArgumentParser
import NightshiftAPI

/// A parser for background time policies.
enum PolicyArgument {
    static let help = ArgumentHelp("contiguous or opportunistic, optionally with :SECONDS.", valueName: "policy")

    static func parse(_ text: String) throws -> BackgroundPolicy {
        guard let policy = BackgroundPolicy(text) else {
            let range = BackgroundPolicy.secondsAllowed
            throw ValidationError(
                "'\(text)' is not a policy. Valid are contiguous and opportunistic, optionally with :SECONDS "
                    + "(\(Int(saturating: range.lowerBound)) to \(Int(saturating: range.upperBound)))")
        }
        return policy
    }
}
