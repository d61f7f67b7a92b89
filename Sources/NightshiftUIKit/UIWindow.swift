/// A name for the property `window` that Xcode's template gives an app delegate. There are no windows here: an app that shows some uses
/// another toolkit, and says with ``Application/enterForeground()`` and ``Application/enterBackground()`` when it is seen.
@preconcurrency @MainActor open class UIWindow: UIResponder {
    public nonisolated required init() {
        super.init()
    }
}
