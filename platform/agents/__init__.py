"""The LangGraph workflow: planner, coder, profiler, reflector."""
