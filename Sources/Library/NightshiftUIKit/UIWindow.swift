/// A type for the property `window` that Xcode's template gives an app delegate. This library has no windows. An app
/// with windows uses another toolkit, and calls ``Application/enterForeground()`` and ``Application/enterBackground()``
/// to report whether it is visible.
@preconcurrency @MainActor open class UIWindow: UIResponder {
    public nonisolated required init() {
        super.init()
    }
}
