/// Whether a target without the flags can import UIKit.
#if canImport(UIKit)
    public let otherTargetSeesUIKit = true
#else
    public let otherTargetSeesUIKit = false
#endif
