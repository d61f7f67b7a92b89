/// The type of the property `window` that Xcode's template gives an app delegate. This library has no windows. An app
/// with windows uses another toolkit, and reports with ``Application/enterForeground()`` and
/// ``Application/enterBackground()`` whether it is visible.
@preconcurrency @MainActor open class UIWindow: UIResponder {
    public nonisolated required init() {
        super.init()
    }
}
