import ArgumentParser
import NightshiftAPI

/// A policy of background time as typed.
enum PolicyArgument {
    static let help = ArgumentHelp("contiguous or opportunistic, with :SECONDS if wanted.", valueName: "policy")

    static func parse(_ text: String) throws -> BackgroundPolicy {
        guard let policy = BackgroundPolicy(text) else {
            let range = BackgroundPolicy.secondsAllowed
            throw ValidationError(
                "'\(text)' is no policy: contiguous or opportunistic, with :SECONDS (\(Int(saturating: range.lowerBound)) to "
                    + "\(Int(saturating: range.upperBound))) if wanted")
        }
        return policy
    }
}
