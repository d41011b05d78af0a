"""Who serves models over OpenAI's chat API, by name: where, and what their key is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from agents.model.settings import DEFAULT_MODEL, OPENAI_URL


class ModelProvider(NamedTuple):
    title: str
    base_url: str
    key_variable: str = ""
    """The environment's name of its key; empty for a server of one's own that needs none."""
    model: str | None = None
    """What is asked where no model is named."""


PROVIDERS: Mapping[str, ModelProvider] = {
    "openai": ModelProvider("OpenAI", OPENAI_URL, "OPENAI_API_KEY", DEFAULT_MODEL),
    "anthropic": ModelProvider("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "gemini": ModelProvider(
        "Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"
    ),
    "openrouter": ModelProvider("OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "deepseek": ModelProvider("DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "groq": ModelProvider("Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "ollama": ModelProvider("Ollama", "http://127.0.0.1:11434/v1"),
    "lmstudio": ModelProvider("LM Studio", "http://127.0.0.1:1234/v1"),
    "vllm": ModelProvider("vLLM", "http://127.0.0.1:8000/v1"),
    "llama.cpp": ModelProvider("llama.cpp", "http://127.0.0.1:8080/v1"),
}
